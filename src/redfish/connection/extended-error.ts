/** What a Redfish service says of a refusal, in words: the messages of its extended error. */

export interface ExtendedMessage {
  /** Such as Base.1.8.ActionNotSupported or IDRAC.2.8.SYS518. */
  readonly id: string;
  readonly text: string;
}

const MAX_MESSAGES = 3;
const MAX_TEXT = 300;
const UNPRINTABLE = /[\p{C}\s]+/gu;

/** Its messages; empty where the body has none. Some services answer a success with a body of this shape, too. */
export function extendedMessages(body: unknown): ExtendedMessage[] {
  const error = fieldsOf(fieldsOf(body).error);
  const infos = error['@Message.ExtendedInfo'] ?? fieldsOf(body)['@Message.ExtendedInfo'];
  const listed = Array.isArray(infos) ? infos.map(fieldsOf) : [];
  const messages = listed.map((info) => ({
    id: textOf(info.MessageId),
    text: textOf(info.Message) || textOf(info.MessageId),
  }));
  const general = { id: textOf(error.code), text: textOf(error.message) };
  const found = messages.length > 0 ? messages : [general];
  return found.filter(({ id, text }) => id !== '' || text !== '').slice(0, MAX_MESSAGES);
}

/** One line for people: a BMC's own words may have anything in them. */
export function wordsOf(messages: readonly ExtendedMessage[]): string {
  return messages
    .map(({ text }) => text.replaceAll(UNPRINTABLE, ' ').trim().slice(0, MAX_TEXT))
    .filter((text) => text !== '')
    .join('; ');
}

export function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : {};
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The texts of a list; what is no text is left out. */
export function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((entry): entry is string => typeof entry === 'string') : [];
}

/**
 * The path that a link leads to: `{ "@odata.id": "/redfish/v1/…" }`. Of a whole address only the path is used, so that it leads nowhere
 * else. Null: there is none.
 */
export function linkOf(value: unknown): string | null {
  const link = textOf(fieldsOf(value)['@odata.id']);
  if (/^https?:/i.test(link)) return pathOf(link);
  return link.startsWith('/') && !link.startsWith('//') ? link : null;
}

/** A location is a path or a whole address of the same service; only its path is used. */
export function pathOf(location: string | undefined): string | null {
  if (location === undefined || location === '' || !URL.canParse(location, 'https://bmc/')) return null;
  const { pathname, search } = new URL(location, 'https://bmc/');
  return `${pathname}${search}`;
}
