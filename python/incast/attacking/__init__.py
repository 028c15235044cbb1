"""Attack: the search for traffic in which a contestant is worst, and the smallest scenario that shows it."""

from incast.attacking.judge import Fault, Verdict
from incast.attacking.question import Question, ask
from incast.attacking.run import Attack, attack, run

__all__ = ["Attack", "Fault", "Question", "Verdict", "ask", "attack", "run"]
