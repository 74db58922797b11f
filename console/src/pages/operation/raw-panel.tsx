import { toJsonString } from '@bufbuild/protobuf';
import { useState } from 'react';
import { type Operation, OperationSchema } from '../../../../src/gen/baremetal/v2/operation_pb.ts';
import { Button } from '../../ui/button.tsx';
import { copyText } from '../../ui/command.tsx';
import { download } from '../../ui/download.ts';
import { useToasts } from '../../ui/toasts.tsx';

/** The operation as the API tells it. */
export function RawPanel({ operation }: { operation: Operation }) {
  const [isOpen, setOpen] = useState(false);
  const { tell, tellFailure } = useToasts();
  const json = isOpen ? toJsonString(OperationSchema, operation, { prettySpaces: 2 }) : '';
  const copy = () =>
    copyText(json).then(
      () => tell('The JSON is in the clipboard'),
      (error: unknown) => tellFailure('The JSON could not be copied', error),
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
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls what has the focus */}
          <pre tabIndex={0}>{json}</pre>
        </div>
      )}
    </details>
  );
}
