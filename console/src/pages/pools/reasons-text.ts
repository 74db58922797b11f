/** Why machines of a pool are not schedulable: "draining: 2, maintenance: 1"; empty where all are. */
export function reasonsText(unschedulable: Readonly<Record<string, number>>): string {
  const reasons = Object.entries(unschedulable)
    .sort(([, left], [, right]) => right - left)
    .map(([reason, count]) => `${reason.replaceAll('_', ' ')}: ${count}`);
  return reasons.length === 0 ? '' : `Not schedulable: ${reasons.join(', ')}`;
}
