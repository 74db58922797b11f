/**
 * What an UPGRADE runs on the host, for a POSIX shell. Every command may run again: a package that is up to date stays, and
 * kubeadm and systemctl are idempotent.
 */
const AS_ROOT = 'as() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }';

/** Kubernetes' documentation recommends a hold on these packages, so that nothing else upgrades them; it is restored. */
const UPGRADE_PACKAGE = `upgrade() {
  if ! dpkg -s "$1" >/dev/null 2>&1; then echo "$1 is not a Debian package here: left as it is"; return 0; fi
  held=$(apt-mark showhold "$1")
  as apt-get update &&
    as env DEBIAN_FRONTEND=noninteractive apt-get install -y --only-upgrade --allow-change-held-packages "$1" || return
  [ -z "$held" ] || as apt-mark hold "$1"
}`;

/** kubeadm first: its version must write the node's configuration for the new kubelet. */
export const UPGRADE_KUBELET = [
  AS_ROOT,
  UPGRADE_PACKAGE,
  'upgrade kubeadm && as kubeadm upgrade node && upgrade kubelet',
].join('\n');

export const RESTART_KUBELET = [
  AS_ROOT,
  'as systemctl daemon-reload && as systemctl restart kubelet && systemctl is-active kubelet',
].join('\n');
