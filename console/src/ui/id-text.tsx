/** Text of the server with ids in it: each is short and a link, so that the words around it stay the loudest. */
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { operationHref, rolloutHref } from '../pages.ts';
import { shortId } from './copyable-id.tsx';

const ID = /\b((?:op|ro)-[0-9a-z]{26})\b/;

export function IdText({ children }: { children: string }): ReactNode {
  return children.split(ID).map((part, place) => {
    if (!ID.test(part)) return part;
    const href = part.startsWith('op-') ? operationHref(part) : rolloutHref(part);
    return (
      // biome-ignore lint/suspicious/noArrayIndexKey: parts have no other identity than their position
      <Link key={place} className="id-link mono" href={href} title={part}>
        {shortId(part)}
      </Link>
    );
  });
}
