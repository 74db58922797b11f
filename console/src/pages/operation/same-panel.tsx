/** What does the same at a terminal. */
import type { OperationView } from '../../operation-view.ts';
import { Command } from '../../ui/command.tsx';
import { Panel } from '../../ui/panel.tsx';
import { probeLines, startLine } from './command-lines.ts';

export function SamePanel({ view }: { view: OperationView }) {
  const { operationId, machineId, type, status, message } = view;
  const start = startLine({ machineId, type, planId: message.planId, params: message.params });
  return (
    <Panel title="At a terminal">
      <div className="same">
        <h3>Starts the same again</h3>
        <Command>{start}</Command>
        <h3>Looks at this one</h3>
        {probeLines(operationId, status).map((line) => (
          <Command key={line}>{line}</Command>
        ))}
      </div>
    </Panel>
  );
}
