/**
 * A bulk action on the selected machines, in three steps: how many are eligible and why the others are not; after
 * confirmation, one request per eligible machine; the result of each.
 */
import { type ReactNode, useEffect, useState, useSyncExternalStore } from 'react';
import { IMAGE_RULE } from '../../../../src/domain/machine/machine-input.ts';
import { failureOf } from '../../api/failure.ts';
import { newRequestId } from '../../api/request-id.ts';
import { Failed } from '../../ui/blank.tsx';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ProgressBar } from '../../ui/progress-bar.tsx';
import { type BulkActionName, bulkAction, type Candidate, reasonGroups } from './bulk-actions.ts';
import { readCandidates, startBulk } from './bulk-requests.ts';
import { BulkResults, downloadResults } from './bulk-results.tsx';
import { BulkRun } from './bulk-run.ts';
import { countText } from './list-bar.tsx';

export interface BulkDialogProps {
  readonly name: BulkActionName;
  readonly machineIds: readonly string[];
  readonly onClose: () => void;
}

export function BulkDialog({ name, machineIds, onClose }: BulkDialogProps) {
  const [requestId] = useState(newRequestId);
  const [run, setRun] = useState<BulkRun | null>(null);
  const start = (candidates: readonly Candidate[], imageRef: string) => {
    const started = new BulkRun({
      candidates,
      requestId,
      send: (candidate, id) => startBulk(name, candidate, id, { imageRef }),
      explain: (error) => failureOf(error).message,
    });
    setRun(started);
    void started.run();
  };
  if (run) return <Progress name={name} run={run} onClose={onClose} />;
  return <Confirmation name={name} machineIds={machineIds} onStart={start} onClose={onClose} />;
}

interface ConfirmationProps extends BulkDialogProps {
  readonly onStart: (candidates: readonly Candidate[], imageRef: string) => void;
}

function Confirmation({ name, machineIds, onStart, onClose }: ConfirmationProps) {
  const { title, effect, confirm } = bulkAction(name);
  const { candidates, checked, failure, again } = useCandidates(name, machineIds);
  const [imageRef, setImageRef] = useState('');
  const [typed, setTyped] = useState('');
  const eligible = candidates?.filter(({ reason }) => reason === '').length ?? 0;
  const image = imageRef.trim();
  const disabledBecause = firstOf([
    candidates ? '' : 'Checking the machines…',
    eligible === 0 ? 'None of the selected machines is eligible.' : '',
    image !== '' && !IMAGE_RULE.test(image) ? 'Invalid image reference.' : '',
    confirm === 'typed' && typed.trim() !== String(eligible) ? `Type ${eligible} to confirm.` : '',
  ]);
  const submit = () => {
    if (candidates && disabledBecause === '') onStart(candidates, image);
  };
  return (
    <Dialog
      title={`${title}: ${countText(machineIds.length)} selected`}
      size="wide"
      onClose={onClose}
      onSubmit={submit}
      foot={
        <>
          <Button onClick={onClose}>{name === 'CANCEL' ? 'Go back' : 'Cancel'}</Button>
          <Button
            type="submit"
            kind={confirm === 'typed' ? 'danger-primary' : 'primary'}
            disabledBecause={disabledBecause}
          >
            {candidates ? `${title}: ${countText(eligible)}` : title}
          </Button>
        </>
      }
    >
      <p>{`For each machine: ${effect}.`}</p>
      {failure !== null && <Failed what="Failed to check the machines" error={failure} onRetry={again} />}
      {failure === null && !candidates && (
        <Meter done={checked} of={machineIds.length}>
          {`Checked ${checked.toLocaleString('en')} of ${countText(machineIds.length)}`}
        </Meter>
      )}
      {candidates && <Eligibility candidates={candidates} eligible={eligible} />}
      {name === 'REIMAGE' && (
        <label className="field">
          <span>Image</span>
          <input
            className="input mono"
            placeholder="Default image"
            spellCheck={false}
            value={imageRef}
            aria-invalid={(image !== '' && !IMAGE_RULE.test(image)) || undefined}
            onChange={(event) => setImageRef(event.target.value)}
          />
        </label>
      )}
      {confirm === 'typed' && candidates && eligible > 0 && (
        <label className="field">
          <span>{`This destroys all data on their disks. Type ${eligible} to confirm`}</span>
          <input
            className="input mono"
            inputMode="numeric"
            autoComplete="off"
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
          />
        </label>
      )}
    </Dialog>
  );
}

function firstOf(reasons: readonly string[]): string {
  return reasons.find((reason) => reason !== '') ?? '';
}

function useCandidates(name: BulkActionName, machineIds: readonly string[]) {
  const [candidates, setCandidates] = useState<readonly Candidate[] | null>(null);
  const [checked, setChecked] = useState(0);
  const [failure, setFailure] = useState<unknown>(null);
  const [attempt, setAttempt] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another attempt repeats the same request
  useEffect(() => {
    const stopped = new AbortController();
    setFailure(null);
    setChecked(0);
    readCandidates(name, machineIds, setChecked, stopped.signal).then(setCandidates, (error: unknown) => {
      if (!stopped.signal.aborted) setFailure(error);
    });
    return () => stopped.abort();
  }, [name, machineIds, attempt]);
  return { candidates, checked, failure, again: () => setAttempt((count) => count + 1) };
}

const EXAMPLES = 2;

function Eligibility({ candidates, eligible }: { candidates: readonly Candidate[]; eligible: number }) {
  const groups = reasonGroups(candidates);
  return (
    <div className="eligibility">
      <p role="status">
        <strong>{`${eligible.toLocaleString('en')} of ${countText(candidates.length)} eligible`}</strong>
        {groups.length > 0 && '; the others are skipped:'}
      </p>
      {groups.length > 0 && (
        <table className="table">
          <thead>
            <tr>
              <th className="number">Machines</th>
              <th>Reason</th>
              <th>Examples</th>
            </tr>
          </thead>
          <tbody>
            {groups.map(({ reason, machineIds }) => (
              <tr key={reason}>
                <td className="number">{machineIds.length.toLocaleString('en')}</td>
                <td>{reason}</td>
                <td className="mono">{machineIds.slice(0, EXAMPLES).join(', ')}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </div>
  );
}

function Meter({ done, of, children }: { done: number; of: number; children: ReactNode }) {
  const percent = of === 0 ? 100 : Math.floor((100 * done) / of);
  return (
    <>
      <p role="status">{children}</p>
      <ProgressBar label="Progress" percent={percent} tone="blue" />
    </>
  );
}

interface ProgressProps {
  readonly name: BulkActionName;
  readonly run: BulkRun;
  readonly onClose: () => void;
}

function Progress({ name, run, onClose }: ProgressProps) {
  useSyncExternalStore(run.subscribe, run.version);
  const counts = run.counts();
  const { title } = bulkAction(name);
  const isRunning = run.isRunning();
  const completed = counts.started + counts.failed;
  const all = run.results().length - counts.ineligible;
  const rest = counts.failed + counts.stopped;
  return (
    <Dialog
      title={isRunning ? `${title}: in progress` : `${title}: ${rest === 0 ? 'done' : 'not all started'}`}
      size="wide"
      onClose={isRunning ? () => {} : onClose}
      foot={
        <>
          {!isRunning && <Button onClick={() => downloadResults(name, run.results())}>Download CSV</Button>}
          {!isRunning && rest > 0 && (
            <Button onClick={() => void run.retry()}>{`Retry ${countText(rest)}`}</Button>
          )}
          {isRunning ? (
            <Button
              onClick={() => run.stop()}
              disabledBecause={run.isStopping() ? 'Stopping: waiting for requests in flight.' : ''}
            >
              Stop
            </Button>
          ) : (
            <Button kind="primary" onClick={onClose}>
              Close
            </Button>
          )}
        </>
      }
    >
      <Meter done={completed} of={all}>
        {[
          `${completed.toLocaleString('en')} of ${countText(all)} completed`,
          `${counts.started.toLocaleString('en')} started`,
          `${counts.failed.toLocaleString('en')} failed`,
          counts.stopped > 0 ? `${counts.stopped.toLocaleString('en')} not sent` : '',
          counts.ineligible > 0 ? `${counts.ineligible.toLocaleString('en')} skipped` : '',
        ]
          .filter((part) => part !== '')
          .join(' · ')}
      </Meter>
      <BulkResults results={run.results()} version={run.version()} />
    </Dialog>
  );
}
