// `npm start`: from a fresh clone to a running server. Arguments after `--` go to `ingot serve`.
import program from '../bin/load-program.cjs';
import { ensureBuilt } from './ensure-built.mjs';

const npmEchoMs = 500;

/**
 * A Ctrl-C reaches the server twice: the terminal sends it to the whole process group, and npm, a member of
 * that group, passes on what it got. The second would look like an impatient operator, or, with the first
 * one's handler gone, kill the server in the middle of its shutdown.
 */
function dropEchoedSignals() {
  const echoing = new Set();
  const emit = process.emit;
  process.emit = function (name, ...rest) {
    if (name !== 'SIGINT' && name !== 'SIGTERM') return emit.call(this, name, ...rest);
    if (echoing.has(name)) return true;
    const keepHandled = () => {};
    echoing.add(name);
    process.on(name, keepHandled);
    setTimeout(() => {
      echoing.delete(name);
      process.off(name, keepHandled);
    }, npmEchoMs).unref();
    return emit.call(this, name, ...rest);
  };
}

ensureBuilt();
dropEchoedSignals();
const args = process.argv.slice(2);
if (args[0] === '--') args.shift();
await program.run('ingot', ['serve', ...args]);
