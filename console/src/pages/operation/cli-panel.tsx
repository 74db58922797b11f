/** The CLI commands of this operation. */
import type { OperationView } from '../../operation-view.ts';
import { Command } from '../../ui/command.tsx';
import { Panel } from '../../ui/panel.tsx';
import { inspectLines, startLine } from './command-lines.ts';

export function CliPanel({ view }: { view: OperationView }) {
  const { operationId, machineId, type, status, message } = view;
  const start = startLine({ machineId, type, planId: message.planId, params: message.params });
  return (
    <Panel title="CLI commands">
      <div className="cli-commands">
        <h3>Start the same operation again</h3>
        <Command>{start}</Command>
        <h3>Inspect this operation</h3>
        {inspectLines(operationId, status).map((line) => (
          <Command key={line}>{line}</Command>
        ))}
      </div>
    </Panel>
  );
}
