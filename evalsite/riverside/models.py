"""A small library: books, copies, patrons, loans, holds and fees."""

from django.db import models


class Stamped(models.Model):
    """When a row was really written. No rule reads it: the library's own calendar stands still."""

    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        abstract = True


class Book(models.Model):
    isbn = models.CharField("ISBN", max_length=20, unique=True)
    title = models.CharField(max_length=200)
    author = models.CharField(max_length=200)

    class Meta:
        ordering = ["title"]

    def __str__(self) -> str:
        return self.title


class Copy(models.Model):
    barcode = models.CharField(max_length=20, unique=True)
    book = models.ForeignKey(Book, on_delete=models.CASCADE, related_name="copies")

    class Meta:
        ordering = ["barcode"]
        verbose_name_plural = "copies"

    def __str__(self) -> str:
        return f"{self.barcode}: {self.book}"


class Patron(Stamped):
    card = models.CharField(max_length=20, unique=True)
    name = models.CharField(max_length=200)
    email = models.EmailField()

    class Meta:
        ordering = ["card"]

    def __str__(self) -> str:
        return f"{self.card}: {self.name}"


class Loan(Stamped):
    copy = models.ForeignKey(Copy, on_delete=models.CASCADE, related_name="loans")
    patron = models.ForeignKey(Patron, on_delete=models.CASCADE, related_name="loans")
    due = models.DateField()
    renewals = models.PositiveSmallIntegerField(default=0)
    returned = models.DateField(null=True, blank=True)

    class Meta:
        ordering = ["due"]
        constraints = [
            models.UniqueConstraint(
                fields=["copy"], condition=models.Q(returned=None), name="riverside_a_copy_is_out_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.copy.barcode} to {self.patron.card} until {self.due}"


class Hold(Stamped):
    class Status(models.TextChoices):
        WAITING = "waiting", "Waiting"
        READY = "ready", "Ready"
        CANCELLED = "cancelled", "Cancelled"

    OPEN = (Status.WAITING, Status.READY)

    book = models.ForeignKey(Book, on_delete=models.CASCADE, related_name="holds")
    patron = models.ForeignKey(Patron, on_delete=models.CASCADE, related_name="holds")
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.WAITING)
    position = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text="Among those who wait for the book, from 1; empty when not waiting."
    )
    placed = models.DateField()

    class Meta:
        ordering = ["placed", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["book", "patron"],
                condition=models.Q(status__in=["waiting", "ready"]),
                name="riverside_one_open_hold_a_patron_and_book",
            ),
            models.UniqueConstraint(
                fields=["book", "position"],
                condition=models.Q(status="waiting"),
                name="riverside_one_hold_a_place_in_the_queue",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.book} for {self.patron.card}: {self.status}"


class Fee(Stamped):
    class Status(models.TextChoices):
        OPEN = "open", "Open"
        PAID = "paid", "Paid"
        WAIVED = "waived", "Waived"

    reference = models.CharField(max_length=20, unique=True)
    patron = models.ForeignKey(Patron, on_delete=models.CASCADE, related_name="fees")
    amount = models.DecimalField(max_digits=6, decimal_places=2)
    reason = models.CharField(max_length=200)
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.OPEN)

    class Meta:
        ordering = ["reference"]
        constraints = [
            models.CheckConstraint(condition=models.Q(amount__gt=0), name="riverside_a_fee_is_above_zero")
        ]

    def __str__(self) -> str:
        return f"{self.reference}: {self.amount} ({self.status})"
