/** What a Redfish service says of a refusal, in words: the messages of its extended error. */
import { fieldsOf, listOf, printable, textOf } from './answer-fields.ts';

export interface ExtendedMessage {
  /** Such as Base.1.8.ActionNotSupported or IDRAC.2.8.SYS518. */
  readonly id: string;
  readonly text: string;
}

const MAX_MESSAGES = 3;
const MAX_TEXT = 300;

/** Its messages; empty where the body has none. Some services answer a success with a body of this shape, too. */
export function extendedMessages(body: unknown): ExtendedMessage[] {
  const error = fieldsOf(fieldsOf(body).error);
  const infos = error['@Message.ExtendedInfo'] ?? fieldsOf(body)['@Message.ExtendedInfo'];
  const messages = listOf(infos).map((info) => ({
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
    .map(({ text }) => printable(text, MAX_TEXT))
    .filter((text) => text !== '')
    .join('; ');
}
