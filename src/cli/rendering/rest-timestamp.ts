import { type Timestamp, timestampFromMs } from '@bufbuild/protobuf/wkt';

/** A time as REST writes it, as everything else has it. */
export function timestampOf(text: string | null | undefined): Timestamp | undefined {
  return text ? timestampFromMs(Date.parse(text)) : undefined;
}
