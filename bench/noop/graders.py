from ai_eval.graders import Grader, register


@register
class SaysDone(Grader):
    id = "says_done"
    label = "Says done"
    max_score = 1.0

    def grade(self, question, response, context):
        return self.result(float(response == "done"), "compared")
