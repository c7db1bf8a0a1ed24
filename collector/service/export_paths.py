"""The ways out of one collector: the exporters of its configuration, each with a sending queue of its own."""

from __future__ import annotations

from collector.component import SIGNALS, Component
from collector.config.exporters import SendingQueueConfig
from collector.config.model import Config
from collector.delivery.outbox import Outbox, Outlet
from collector.delivery.sending_queue import HANDOVER, SendingQueue
from collector.exporters.debug import DebugExporter
from collector.exporters.file import FileExporter
from collector.exporters.kafka import KafkaExporter
from collector.exporters.otlp import OtlpExporter
from collector.storage.spool import Spool
from collector.telemetry.metrics import Telemetry
from collector.telemetry.spans import SelfTracing


class ExportPaths:
    """``exporters`` in the order in which they drain, and the ``outbox`` that fills their queues, None where there is none.

    ``handover`` is the exporter of ``service.handover``, if that is configured, and ``successor`` its queue. The others share
    ``max_bytes`` of memory.
    """

    def __init__(
        self, config: Config, spool: Spool | None, max_bytes: int, telemetry: Telemetry, tracing: SelfTracing
    ) -> None:
        exporters, handover = config.exporters, config.service.handover
        share = max_bytes // max(1, len(exporters.queues_mib()))
        again = config.receivers.kafka is not None
        self.exporters: list[Component] = []
        self.handover: OtlpExporter | None = None
        self.successor: SendingQueue | None = None
        outlets: list[Outlet] = []
        if handover is not None:
            # Its queue has no share of its own: what it takes was held until then. It is the first to drain: what waits
            # for it is scored by half meanwhile.
            queue = self.successor = SendingQueue(handover.sending_queue, spool, share, HANDOVER)
            outlets.append(Outlet(queue, ["traces"], HANDOVER))
            self.handover = OtlpExporter(handover, queue, telemetry, name=HANDOVER, place="service.handover")
            self.exporters.append(self.handover)
        for to in exporters.destinations():
            queue = SendingQueue(
                to.backend.sending_queue, spool, share, is_read_again=again, joins=True, signals=to.signals
            )
            outlets.append(Outlet(queue, to.signals))
            self.exporters.append(
                OtlpExporter(
                    to.backend, queue, telemetry, name=to.name, tracing=tracing, place=to.place, signal=to.signal
                )
            )
        if exporters.kafka is not None:
            signals = exporters.kafka.signals()
            queue = SendingQueue(
                exporters.kafka.sending_queue, spool, share, "kafka", is_read_again=again, signals=signals
            )
            outlets.append(Outlet(queue, signals, "kafka"))
            self.exporters.append(KafkaExporter(exporters.kafka, queue, telemetry))
        if exporters.file is not None:
            queue = SendingQueue(SendingQueueConfig(), spool, share, "file", is_read_again=again)
            outlets.append(Outlet(queue, SIGNALS, "file"))
            self.exporters.append(FileExporter(exporters.file, queue, telemetry))
        if exporters.debug is not None:  # what is shown need not survive
            queue = SendingQueue(SendingQueueConfig(), None, share)
            outlets.append(Outlet(queue, SIGNALS, "debug"))
            self.exporters.append(DebugExporter(exporters.debug, queue, telemetry))
        off = exporters.otlp.off if exporters.otlp is not None else ()
        self.outbox = Outbox(outlets, spool, telemetry, off) if outlets else None
