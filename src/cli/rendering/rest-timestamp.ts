import { type Timestamp, timestampFromMs } from '@bufbuild/protobuf/wkt';

/** A timestamp of the REST API as a protobuf Timestamp. */
export function timestampOf(text: string | null | undefined): Timestamp | undefined {
  return text ? timestampFromMs(Date.parse(text)) : undefined;
}
