"""How is it shown whose batch a fact came with?"""

from domain.json_text import JsonValue
from domain.recorded import ProducerStamp


def producer_shape(producer: ProducerStamp | None) -> dict[str, JsonValue] | None:
    """Return a batch's place in its producer's sequence; None of what came without one."""
    if producer is None:
        return None
    return {
        "id": producer.producer_id,
        "epoch": producer.epoch,
        "sequence": producer.sequence,
    }
