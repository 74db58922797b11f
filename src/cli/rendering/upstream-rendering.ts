/** The state of a machine in its upstream, such as MAAS. */
import type { UpstreamView } from '../../gen/baremetal/admin/v1/admin_service_pb.ts';
import { padEnd, plainText } from '../output/plain-text.ts';
import type { TextSink } from '../output/text-sink.ts';
import { ageText, instantText } from '../output/time-text.ts';

const TITLE_WIDTH = 10;

export function writeUpstream(
  sink: TextSink,
  upstream: UpstreamView,
  now: number,
  titleWidth = TITLE_WIDTH,
): void {
  const { source, state, power, upstreamId, since, seenAt, disagreement, failure } = upstream;
  const line = (title: string, text: string) =>
    sink.line(`${padEnd(`${title}:`, titleWidth)}${plainText(text)}`);
  const details = [power && `power ${power}`, upstreamId && `id ${upstreamId}`].filter(Boolean).join(', ');
  line('Upstream', `${source} reports ${state}${details && ` (${details})`}`);
  line('Since', instantText(since));
  line('Seen', `${instantText(seenAt)} (${ageText(seenAt, now)} ago)`);
  if (failure !== '') line('Unread', failure);
  if (disagreement !== '') line('Drift', disagreement);
  const { acceptedBy, acceptedReason, acceptedAt } = upstream;
  if (acceptedBy !== '') line('Forced', `by ${acceptedBy}, ${instantText(acceptedAt)}: ${acceptedReason}`);
}
