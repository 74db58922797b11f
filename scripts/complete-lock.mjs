// Completes package-lock.json where the registry in use lacks packages for other platforms: npm leaves those out of
// the lock file, and `npm ci` then refuses it. Run after every change of the dependencies.
import { readFileSync, writeFileSync } from 'node:fs';

const file = process.argv[2] ?? 'package-lock.json';
const lock = JSON.parse(readFileSync(file, 'utf8'));
const oses = ['android', 'darwin', 'freebsd', 'linux', 'openharmony', 'win32'];
const cpus = {
  'arm-gnueabihf': 'arm',
  'arm-musleabihf': 'arm',
  'arm-eabi': 'arm',
  arm64: 'arm64',
  x64: 'x64',
  ia32: 'ia32',
  ppc64: 'ppc64',
  riscv64: 'riscv64',
  s390x: 's390x',
  wasm32: 'wasm32',
};
for (const [path, entry] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    if (
      lock.packages[`${path ? `${path}/` : ''}node_modules/${name}`] ||
      lock.packages[`node_modules/${name}`]
    )
      continue;
    if (!/^\d/.test(version)) throw new Error(`${name}: ${version} is not exact`);
    const tail = name.replace(/^@[^/]+\/(cli|binding)-/, '');
    const os = oses.find((o) => tail.startsWith(o));
    const rest = os ? tail.slice(os.length + 1) : tail;
    const cpu = Object.entries(cpus).find(([k]) => rest.startsWith(k))?.[1];
    if (!cpu) throw new Error(`${name}: no cpu`);
    const libc = /musl/.test(rest) ? ['musl'] : os === 'linux' && /gnu/.test(rest) ? ['glibc'] : undefined;
    lock.packages[`node_modules/${name}`] = {
      version,
      cpu: [cpu],
      ...(entry.dev ? { dev: true } : {}),
      ...(libc ? { libc } : {}),
      optional: true,
      ...(os ? { os: [os] } : {}),
    };
  }
}
const { '': top, ...others } = lock.packages;
lock.packages = {
  '': top,
  ...Object.fromEntries(Object.entries(others).sort(([a], [b]) => (a < b ? -1 : 1))),
};
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
