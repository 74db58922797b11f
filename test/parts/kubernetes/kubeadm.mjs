// A stand-in for kubeadm: as strict about what is on the host as the real one, and as careful about whom it joins.
// $STAND_IN_HOST is the host's directory: kubernetes/ in place of /etc/kubernetes, control/ for what a test wants.
import { createHash, createHmac, X509Certificate } from 'node:crypto';
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parse } from 'yaml';

const host = process.env.STAND_IN_HOST;
const kubernetes = (name) => join(host, 'kubernetes', name);
const control = (name) => {
  const file = join(host, 'control', name);
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : null;
};
const [verb, ...args] = process.argv.slice(2);

function fail(message) {
  console.error(`error execution phase: ${message}`);
  console.error('To see the stack trace of this error execute with --v=5 or higher');
  process.exit(1);
}

function call(endpoint, { method = 'GET', path, token, ca, body }) {
  const [hostname, port] = endpoint.split(':');
  const trust = ca ? { ca } : { rejectUnauthorized: false };
  const headers = {
    ...(token ? { authorization: `Bearer ${token}` } : {}),
    ...(body ? { 'content-type': 'application/json' } : {}),
  };
  return new Promise((resolve, reject) => {
    const sent = request({ hostname, port, path, method, headers, agent: false, ...trust }, (answer) => {
      let text = '';
      answer.on('data', (chunk) => {
        text += chunk;
      });
      answer.on('end', () => resolve({ status: answer.statusCode, body: JSON.parse(text) }));
    });
    sent.on('error', reject);
    sent.end(body ? JSON.stringify(body) : undefined);
  });
}

function checkSignature(info, id, secret) {
  const signature = info.data[`jws-kubeconfig-${id}`];
  if (!signature) fail(`could not find a JWS signature in the cluster-info ConfigMap for token ID "${id}"`);
  const [header, , given] = signature.split('.');
  const payload = Buffer.from(info.data.kubeconfig).toString('base64url');
  const wanted = createHmac('sha256', secret).update(`${header}.${payload}`).digest('base64url');
  if (given !== wanted) fail('failed to verify JWS signature of received cluster info object');
}

function checkPin(ca, hashes) {
  const key = new X509Certificate(ca).publicKey.export({ type: 'spki', format: 'der' });
  const pin = `sha256:${createHash('sha256').update(key).digest('hex')}`;
  if (!hashes.includes(pin)) fail('none of the public keys are pinned');
}

async function join_() {
  if (args.join(' ') !== '--config /dev/stdin') fail(`unexpected arguments: ${args.join(' ')}`);
  const config = parse(readFileSync('/dev/stdin', 'utf8'));
  const version = (control('version') ?? 'v1.31.2').startsWith('v1.3') ? 'v1beta4' : 'v1beta3';
  if (config.kind !== 'JoinConfiguration' || config.apiVersion !== `kubeadm.k8s.io/${version}`) {
    fail(`no kind "${config.kind}" is registered for version "${config.apiVersion}"`);
  }
  const { apiServerEndpoint, token, caCertHashes } = config.discovery.bootstrapToken;
  const node = config.nodeRegistration.name;
  appendFileSync(join(host, 'control', 'joins'), `${node}\n`);
  console.log('[preflight] Running pre-flight checks');
  for (const file of ['kubelet.conf', 'bootstrap-kubelet.conf', 'pki/ca.crt']) {
    if (!existsSync(kubernetes(file))) continue;
    console.error(`[ERROR FileAvailable--etc-kubernetes-${file.replace('/', '-')}]: already exists`);
    fail('preflight: [preflight] Some fatal errors occurred');
  }
  await delay(Number(control('delay-ms') ?? 0));
  if (control('print-config') !== null) console.log(JSON.stringify(config));
  const [id, secret] = token.split('.');
  const info = await call(apiServerEndpoint, {
    path: '/api/v1/namespaces/kube-public/configmaps/cluster-info',
  });
  checkSignature(info.body, id, secret);
  const cluster = parse(info.body.data.kubeconfig).clusters[0].cluster;
  const ca = Buffer.from(cluster['certificate-authority-data'], 'base64');
  checkPin(ca, caCertHashes);
  mkdirSync(kubernetes('pki'), { recursive: true });
  writeFileSync(kubernetes('pki/ca.crt'), ca);
  writeFileSync(kubernetes('bootstrap-kubelet.conf'), '');
  if (control('break') !== null) fail('kubelet-start: timed out waiting for the TLS bootstrap');
  const known = await call(apiServerEndpoint, { path: `/api/v1/nodes/${node}`, token, ca });
  const ready = known.body.status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
  if (known.status === 200 && ready) fail(`a Node with name "${node}" and status "Ready" already exists`);
  const made = await call(apiServerEndpoint, {
    method: 'POST',
    path: '/api/v1/nodes',
    token,
    ca,
    body: { apiVersion: 'v1', kind: 'Node', metadata: { name: node } },
  });
  if (made.status !== 201) fail(`the node could not be registered: ${made.body.reason}`);
  writeFileSync(kubernetes('kubelet.conf'), '');
  rmSync(kubernetes('bootstrap-kubelet.conf'));
  console.log('This node has joined the cluster');
}

if (verb === 'reset') {
  appendFileSync(join(host, 'control', 'resets'), 'reset\n');
  rmSync(join(host, 'kubernetes'), { recursive: true, force: true });
} else if (verb === 'join') await join_();
else fail(`unknown command "${verb}"`);
