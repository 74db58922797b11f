/** A host key that we give a machine, so that we know it when its disk was written again. */
import ssh2 from 'ssh2';

export interface HostKey {
  /** In OpenSSH's format. Goes to the machine, and is kept nowhere else. */
  readonly privateKey: string;
  /** "ssh-ed25519 AAAA…" */
  readonly publicKey: string;
}

/** Which key a deployment gave a machine; null: none of ours did. */
export interface DeployedHostKeys {
  read(machineId: string): Promise<string | null>;
}

export function newHostKey(): HostKey {
  const { private: privateKey, public: publicKey } = ssh2.utils.generateKeyPairSync('ed25519');
  return { privateKey, publicKey: publicKey.trim() };
}
