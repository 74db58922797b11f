// One machine's firmware that asks for where to boot from: node dhcp-discover.mjs <client-arch> <vendor class> [ipxe]
// Prints {address, vendor, file}, the file as the machine would load it, whichever of the two answers it is in.
import { createSocket } from 'node:dgram';

const [arch = '0', vendor = 'PXEClient', kind] = process.argv.slice(2);
const OWN_ADDRESS = 0xc0000202;
const [DISCOVER, REQUEST] = [1, 3];

const option = (code, ...bytes) => Buffer.from([code, bytes.length, ...bytes]);

function packet(type, menuItem) {
  const head = Buffer.alloc(240);
  head.set([1, 1, 6]);
  head.writeUInt32BE(0x1000 + Number(arch), 4);
  if (type === DISCOVER) head.writeUInt16BE(0x8000, 10);
  else head.writeUInt32BE(OWN_ADDRESS, 12);
  head.set([2, 0, 0, 0, kind === 'ipxe' ? 1 : 0, Number(arch)], 28);
  head.writeUInt32BE(0x63825363, 236);
  return Buffer.concat([
    head,
    option(53, type),
    option(55, 1, 3, 6, 43, 54, 60, 66, 67),
    option(60, ...Buffer.from(vendor)),
    option(93, 0, Number(arch)),
    option(94, 1, 3, 0),
    option(97, ...Buffer.alloc(17)),
    ...(menuItem ? [option(43, 71, 4, ...menuItem, 0, 0, 255)] : []),
    ...(kind === 'ipxe' ? [option(175, 8, 1, 1)] : []),
    Buffer.from([255]),
  ]);
}

function read(message) {
  const options = new Map();
  for (let at = 240; at < message.length && message[at] !== 255; ) {
    if (message[at] === 0) at += 1;
    else {
      options.set(message[at], message.subarray(at + 2, at + 2 + message[at + 1]));
      at += 2 + message[at + 1];
    }
  }
  const text = (bytes) => (bytes ?? Buffer.alloc(0)).toString('latin1').replace(/\0.*$/s, '');
  const dotted = (from) => [...message.subarray(from, from + 4)].join('.');
  return {
    address: dotted(16),
    next: dotted(20),
    vendor: text(options.get(60)),
    file: text(options.get(67)) || text(message.subarray(108, 236)),
    menuItem: menuItemOf(options.get(43)),
  };
}

/** The type of the first item of PXE's boot menu (9). */
function menuItemOf(encapsulated = Buffer.alloc(0)) {
  for (let at = 0; at < encapsulated.length && encapsulated[at] !== 255; at += 2 + encapsulated[at + 1])
    if (encapsulated[at] === 9) return encapsulated.subarray(at + 2, at + 4);
  return undefined;
}

function ask(port, to, message) {
  return new Promise((resolve) => {
    const socket = createSocket({ type: 'udp4', reuseAddr: true });
    socket.on('message', (answer) => {
      socket.close();
      resolve(read(answer));
    });
    socket.bind(port === 67 ? 68 : port, '0.0.0.0', () => {
      socket.setBroadcast(true);
      socket.send(message, port, to);
    });
  });
}

setTimeout(() => process.exit(1), 10_000).unref();
const offer = await ask(67, '255.255.255.255', packet(DISCOVER));
// A proxy's file is in its second answer: for a menu's item with BIOS, without a menu with UEFI.
const isElsewhere = offer.address === '0.0.0.0' && offer.file === '';
const second = isElsewhere ? await ask(4011, '192.0.2.10', packet(REQUEST, offer.menuItem)) : offer;
console.log(JSON.stringify({ address: offer.address, vendor: offer.vendor, file: second.file }));
