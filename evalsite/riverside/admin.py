from django.contrib import admin

from evalsite.riverside.models import Book, Copy, Fee, Hold, Loan, Patron


@admin.register(Book)
class BookAdmin(admin.ModelAdmin):
    list_display = ["title", "author", "isbn"]


@admin.register(Copy)
class CopyAdmin(admin.ModelAdmin):
    list_display = ["barcode", "book"]
    list_select_related = ["book"]


@admin.register(Patron)
class PatronAdmin(admin.ModelAdmin):
    list_display = ["card", "name", "email"]


@admin.register(Loan)
class LoanAdmin(admin.ModelAdmin):
    list_display = ["copy", "patron", "due", "renewals", "returned"]
    list_select_related = ["copy__book", "patron"]


@admin.register(Hold)
class HoldAdmin(admin.ModelAdmin):
    list_display = ["book", "patron", "status", "position", "placed"]
    list_select_related = ["book", "patron"]


@admin.register(Fee)
class FeeAdmin(admin.ModelAdmin):
    list_display = ["reference", "patron", "amount", "status"]
    list_select_related = ["patron"]
