import { useState } from 'react';
import { Button } from './button.tsx';

/** The equivalent CLI command, with a button to copy it. */
export function Command({ children: command }: { children: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await copyText(command);
    setCopied(true);
    setTimeout(() => setCopied(false), 1_500);
  };
  return (
    <div className="command">
      <code>{command}</code>
      <Button kind="quiet" onClick={() => void copy()} label={`Copy: ${command}`}>
        {copied ? 'Copied' : 'Copy'}
      </Button>
    </div>
  );
}

/** Browsers offer no clipboard API to pages without TLS; selecting and copying still works there. */
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement('textarea');
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand('copy');
  area.remove();
}
