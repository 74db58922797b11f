/** The lines of an export, as the server sends them. */
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { Api } from '../../connection/api.ts';

export interface ExportLimits {
  /** In milliseconds since 1970. */
  readonly since?: number;
  readonly until?: number;
  readonly actor?: string;
}

export async function* exportedLines(api: Api, options: ExportLimits): AsyncGenerator<string> {
  const { since, until, actor } = options;
  const stream = api.admin.exportAudit({
    ...(since !== undefined && { since: timestampFromDate(new Date(since)) }),
    ...(until !== undefined && { until: timestampFromDate(new Date(until)) }),
    actor: actor ?? '',
  });
  for await (const { lines } of stream) yield* lines;
}
