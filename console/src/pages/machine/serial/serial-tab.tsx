/** The serial console of a machine, in the page. */
import { useEffect, useRef, useState } from 'react';
import { stateWords, turnWords } from '../../../../../src/client/console-words.ts';
import type { Console } from '../../../../../src/gen/baremetal/fleet/v1/console_service_pb.ts';
import { METHODS, useForbidden } from '../../../identity.tsx';
import { Failed } from '../../../ui/blank.tsx';
import { Button } from '../../../ui/button.tsx';
import { Command } from '../../../ui/command.tsx';
import { Panel } from '../../../ui/panel.tsx';
import type { SerialTerminal } from './serial-terminal.ts';
import '../../../styles/serial.css';

export function SerialTab({ machineId }: { machineId: string }) {
  const [isOpen, setIsOpen] = useState(true);
  const forbidden = useForbidden()('operator', METHODS.openConsole);
  if (isOpen && forbidden === '')
    return <OpenSerial key={machineId} machineId={machineId} onDisconnect={() => setIsOpen(false)} />;
  return (
    <Panel title="Serial console">
      <p>{forbidden === '' ? 'Disconnected.' : forbidden}</p>
      <Button kind="primary" disabledBecause={forbidden} onClick={() => setIsOpen(true)}>
        Connect
      </Button>
    </Panel>
  );
}

interface Seen {
  readonly console: Console;
  readonly sessionId: string;
}

function OpenSerial({ machineId, onDisconnect }: { machineId: string; onDisconnect: () => void }) {
  const host = useRef<HTMLDivElement>(null);
  const terminal = useRef<SerialTerminal>(null);
  const [seen, setSeen] = useState<Seen | null>(null);
  const [refused, setRefused] = useState('');
  const [failure, setFailure] = useState<unknown>(null);
  useEffect(() => {
    let isGone = false;
    const open = async () => {
      const { openSerialTerminal } = await import('./serial-terminal.ts');
      if (isGone || !host.current) return;
      terminal.current = openSerialTerminal(host.current, machineId, {
        onConsole: (console, sessionId) => {
          setSeen({ console, sessionId });
          setRefused('');
          terminal.current?.setWriting(console.writerSessionId === sessionId);
        },
        onRefused: setRefused,
        onFailed: setFailure,
      });
    };
    open().catch(setFailure);
    return () => {
      isGone = true;
      terminal.current?.close();
      terminal.current = null;
    };
  }, [machineId]);
  return (
    <Panel
      title="Serial console"
      actions={<Actions seen={seen} terminal={() => terminal.current} onDisconnect={onDisconnect} />}
    >
      {failure !== null && <Failed what={`Failed to open the console of ${machineId}`} error={failure} />}
      <p role="status" className="serial-state">
        {seen === null ? 'Connecting to the server…' : `${stateWords(seen.console)} · ${peopleWords(seen)}`}
      </p>
      {refused !== '' && <p role="alert">{refused}</p>}
      <section ref={host} className="serial-terminal" aria-label={`Terminal of ${machineId}`} />
      <p className="serial-hint">
        Everyone who has the console open sees the same output. Shift+Tab leaves the terminal. On a terminal
        of your own:
      </p>
      <Command>{`ingot console ${machineId}`}</Command>
    </Panel>
  );
}

function peopleWords({ console, sessionId }: Seen): string {
  const others = console.readers.length - 1;
  const asking = console.readers.filter(({ asks }) => asks).map(({ actor }) => `${actor} asks for the turn`);
  const reading = others === 1 ? '1 other has it open' : `${others} others have it open`;
  return [turnWords(console, sessionId), ...(others > 0 ? [reading] : []), ...asking].join(' · ');
}

interface ActionsProps {
  readonly seen: Seen | null;
  readonly terminal: () => SerialTerminal | null;
  readonly onDisconnect: () => void;
}

function Actions({ seen, terminal, onDisconnect }: ActionsProps) {
  const forbidden = useForbidden()('operator', METHODS.writeConsole);
  const writer = seen?.console.writerSessionId ?? '';
  const isWriter = seen !== null && writer === seen.sessionId;
  const asks = seen?.console.readers.some((one) => one.sessionId === seen.sessionId && one.asks) ?? false;
  const waiting = seen === null ? 'Wait until it is connected.' : '';
  const take = (how: 'ask' | 'steal') => {
    terminal()?.attachment.take(how);
    terminal()?.focus();
  };
  return (
    <>
      {writer !== '' && !isWriter && (
        <Button
          disabledBecause={forbidden || (asks ? 'You have asked for it already.' : '')}
          onClick={() => take('ask')}
        >
          Ask to write
        </Button>
      )}
      {isWriter ? (
        <Button onClick={() => terminal()?.attachment.release()}>Release</Button>
      ) : (
        <Button kind="primary" disabledBecause={forbidden || waiting} onClick={() => take('steal')}>
          Take over
        </Button>
      )}
      <Button onClick={onDisconnect}>Disconnect</Button>
    </>
  );
}
