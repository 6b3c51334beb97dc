"""The fixed cast of users: one for each task, and one who may do nothing."""

from django.contrib.auth.models import Group, User

PASSWORD = "correct horse battery staple"
GROUPS = {
    "olga": "AI Eval operators",
    "adam": "AI Eval administrators",
    "anna": "AI Eval annotators",
    "vera": "AI Eval judge validators",
}


def make_user(name: str) -> User:
    """olga operates, adam administers, anna annotates, vera validates judges, nina may do nothing,
    root may do everything; all of them may enter the admin."""
    user = User.objects.create_user(name, password=PASSWORD, is_staff=True, is_superuser=name == "root")
    if name in GROUPS:
        user.groups.add(Group.objects.get(name=GROUPS[name]))
    return user
