import { toJsonString } from '@bufbuild/protobuf';
import { useState } from 'react';
import { type Operation, OperationSchema } from '../../../../src/gen/baremetal/v2/operation_pb.ts';
import { Button } from '../../ui/button.tsx';
import { copyText } from '../../ui/command.tsx';
import { download } from '../../ui/download.ts';
import { useToasts } from '../../ui/toasts.tsx';

/** The operation as the API returns it. */
export function RawPanel({ operation }: { operation: Operation }) {
  const [isOpen, setOpen] = useState(false);
  const { notify, notifyFailure } = useToasts();
  const json = isOpen ? toJsonString(OperationSchema, operation, { prettySpaces: 2 }) : '';
  const copy = () =>
    copyText(json).then(
      () => notify('Copied JSON to the clipboard'),
      (error: unknown) => notifyFailure('Failed to copy JSON', error),
    );
  return (
    <details className="panel raw" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Raw JSON</summary>
      {isOpen && (
        <div className="body">
          <div className="row">
            <Button onClick={() => void copy()}>Copy JSON</Button>
            <Button onClick={() => download(`${operation.operationId}.json`, 'application/json', [json])}>
              Download JSON
            </Button>
          </div>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scroll area must be reachable by keyboard */}
          <pre tabIndex={0}>{json}</pre>
        </div>
      )}
    </details>
  );
}
