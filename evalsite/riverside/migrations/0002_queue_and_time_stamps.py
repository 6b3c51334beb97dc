import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("riverside", "0001_initial"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="hold",
            name="riverside_one_waiting_hold_a_patron_and_book",
        ),
        migrations.AddField(
            model_name="fee",
            name="created_at",
            field=models.DateTimeField(auto_now_add=True, default=django.utils.timezone.now),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="fee",
            name="updated_at",
            field=models.DateTimeField(auto_now=True),
        ),
        migrations.AddField(
            model_name="hold",
            name="created_at",
            field=models.DateTimeField(auto_now_add=True, default=django.utils.timezone.now),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="hold",
            name="position",
            field=models.PositiveSmallIntegerField(
                blank=True,
                help_text="Among those who wait for the book, from 1; empty when not waiting.",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="hold",
            name="updated_at",
            field=models.DateTimeField(auto_now=True),
        ),
        migrations.AddField(
            model_name="loan",
            name="created_at",
            field=models.DateTimeField(auto_now_add=True, default=django.utils.timezone.now),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="loan",
            name="updated_at",
            field=models.DateTimeField(auto_now=True),
        ),
        migrations.AddField(
            model_name="patron",
            name="created_at",
            field=models.DateTimeField(auto_now_add=True, default=django.utils.timezone.now),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="patron",
            name="updated_at",
            field=models.DateTimeField(auto_now=True),
        ),
        migrations.AddConstraint(
            model_name="fee",
            constraint=models.CheckConstraint(
                condition=models.Q(("amount__gt", 0)), name="riverside_a_fee_is_above_zero"
            ),
        ),
        migrations.AddConstraint(
            model_name="hold",
            constraint=models.UniqueConstraint(
                condition=models.Q(("status__in", ["waiting", "ready"])),
                fields=("book", "patron"),
                name="riverside_one_open_hold_a_patron_and_book",
            ),
        ),
        migrations.AddConstraint(
            model_name="hold",
            constraint=models.UniqueConstraint(
                condition=models.Q(("status", "waiting")),
                fields=("book", "position"),
                name="riverside_one_hold_a_place_in_the_queue",
            ),
        ),
    ]
