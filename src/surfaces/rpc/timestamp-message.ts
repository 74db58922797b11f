/** Times in answers. The library makes a message of its own of each, which the encoders here do not need. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { TimestampSchema } from '@bufbuild/protobuf/wkt';

type TimestampMessage = Exclude<MessageInitShape<typeof TimestampSchema>, { readonly $typeName: string }>;

export function timestampOf(date: Date): TimestampMessage {
  return timestampOfMs(date.getTime());
}

/** Of a time as records have it, in ISO 8601. */
export function timestampOfText(text: string): TimestampMessage {
  return timestampOfMs(Date.parse(text));
}

function timestampOfMs(ms: number): TimestampMessage {
  const seconds = Math.floor(ms / 1000);
  return { seconds: BigInt(seconds), nanos: (ms - seconds * 1000) * 1_000_000 };
}
