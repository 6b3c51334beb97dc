from ai_eval.graders import LLMJudge, register


@register
class HouseTone(LLMJudge):
    """Scores how well a response matches the site's tone of voice."""

    id = "house_tone"
    label = "House tone"
    description = "LLM judge: does the response match the documented house tone (1-5)?"
    dimension = "house_tone"
    dimension_description = (
        "adherence to the house tone of voice: plain, direct, second person, no marketing language"
    )
    scoring_guidance = """\
5: Plain and direct throughout, second person, no marketing language.
4: One lapse into promotional or vague phrasing.
3: Several lapses, or drifts into third person.
2: Mostly promotional or hedged.
1: Reads as marketing copy."""
