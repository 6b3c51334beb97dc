"""What is evaluated. An app's own agents stand in its `eval_agents.py`."""

from ai_eval.agents.base import Agent, AgentReply
from ai_eval.agents.recorder import Recorder
from ai_eval.registries import ClassRegistry

registry: ClassRegistry[Agent] = ClassRegistry("agent")


def register(agent: type[Agent]) -> type[Agent]:
    """Class decorator: makes an agent selectable on targets."""
    return registry.register(agent)


__all__ = ["Agent", "AgentReply", "Recorder", "register", "registry"]
