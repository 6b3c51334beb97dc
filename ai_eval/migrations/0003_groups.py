"""Four groups, one for each task, so that a new site has somebody to give rights to."""

from django.db import migrations

GROUPS = {
    "AI Eval operators": ["operate"],
    "AI Eval administrators": ["operate", "administer", "annotate", "validate_judges"],
    "AI Eval annotators": ["annotate"],
    "AI Eval judge validators": ["validate_judges"],
}
NAMES = {
    "operate": "Operate AI Eval: see targets and results, run evaluations",
    "administer": "Administer AI Eval: settings, targets, datasets",
    "annotate": "Annotate AI Eval results: label answers",
    "validate_judges": "Validate AI Eval judges: their models, prompts and validation",
}


def make_groups(apps, schema_editor):
    database = schema_editor.connection.alias
    content_types = apps.get_model("contenttypes", "ContentType").objects.using(database)
    permissions = apps.get_model("auth", "Permission").objects.using(database)
    groups = apps.get_model("auth", "Group").objects.using(database)
    # Django makes permissions after all migrations; on a new database they are not there yet.
    content_type, _ = content_types.get_or_create(app_label="ai_eval", model="evalsettings")
    made = {
        codename: permissions.get_or_create(
            content_type=content_type, codename=codename, defaults={"name": name}
        )[0]
        for codename, name in NAMES.items()
    }
    for name, codenames in GROUPS.items():
        group, _ = groups.get_or_create(name=name)
        group.permissions.add(*(made[codename] for codename in codenames))


def remove_groups(apps, schema_editor):
    """Those without members: a group that somebody uses is not ours to remove."""
    groups = apps.get_model("auth", "Group").objects.using(schema_editor.connection.alias)
    groups.filter(name__in=GROUPS, user=None).delete()


class Migration(migrations.Migration):
    dependencies = [
        ("ai_eval", "0002_permissions_and_tags"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]

    operations = [migrations.RunPython(make_groups, remove_groups)]
