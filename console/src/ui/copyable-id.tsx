import { useState } from 'react';
import { copyText } from './command.tsx';
import { Icon } from './icon.tsx';

/** Names that people gave are never cut. */
const MADE_BY_SERVER = /^([a-z]+)-([0-9a-z]{26})$/;

/** The end of an id, which tells it from others of its time; a click copies all of it. */
export function shortId(id: string): string {
  const [, kind, rest = ''] = MADE_BY_SERVER.exec(id) ?? [];
  return kind === undefined ? id : `${kind}-…${rest.slice(-6)}`;
}

/** The name of a link whose text is the short one: it has all of it too. */
export function spokenId(id: string): string {
  const short = shortId(id);
  return short === id ? id : `${short}, ${id}`;
}

export function CopyableId({ id }: { id: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await copyText(id);
    setCopied(true);
    setTimeout(() => setCopied(false), 1_500);
  };
  return (
    <button
      type="button"
      className="copyable-id mono"
      title={id}
      aria-label={`${copied ? 'copied' : shortId(id)}, copy ${id}`}
      onClick={() => void copy()}
    >
      {copied ? 'copied' : shortId(id)}
      <Icon name={copied ? 'check' : 'copy'} size={12} />
    </button>
  );
}
