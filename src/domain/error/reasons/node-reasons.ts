/** Why the REST API of nodes, images and workflows refuses a request. */
import type { ReasonRow } from './reason-row.ts';

export const NODE_REASONS = {
  NODE_NOT_FOUND: {
    kind: 'not_found',
    message: 'Node not found',
    cause: 'no node has the id or the MAC address',
    fix: 'list the nodes, or register this one',
    commands: ['{ingot} node list', '{ingot} show {id}   (a machine that does not boot from the network)'],
  },
  MAC_TAKEN: {
    kind: 'already_exists',
    message: 'Node with MAC <address> already exists',
    cause: 'another node has the MAC address; `machine_id` names it',
    fix: 'use that node, or correct the address',
  },
  INSTALL_ATTEMPTS_EXHAUSTED: {
    kind: 'failed_precondition',
    message: 'Installation failed <attempts> of <limit> times (<last error>)',
    cause: 'the node failed to install as often as it may try',
    fix: 'remove the cause that the message names, or assign another workflow; then set it pending with force',
    commands: ['{ingot} node state <node-id> pending --force [--workflow <another>]'],
  },
  NO_INVENTORY: {
    kind: 'not_found',
    message: '<machine_id> has reported no inventory yet',
    cause: "the node has not booted Ingot's installer yet",
    fix: 'boot the machine from the network; its installer reports the inventory',
  },
  BOOT_NOT_WANTED: {
    kind: 'aborted',
    message: 'this boot must not install: <why>',
    cause: 'the report comes from a boot whose node or operation no longer waits for it',
    fix: 'nothing: the machine boots again and gets what is wanted now',
  },
  TOO_MANY_DISCOVERED: {
    kind: 'resource_exhausted',
    message: 'too many machines wait for approval, or several machines claim this MAC address',
    cause: 'unknown machines report themselves faster than they are approved',
    fix: 'approve or retire the discovered nodes',
  },
  DISCOVERY_TOO_FAST: {
    kind: 'resource_exhausted',
    message: 'too many new machines from <network>; try again later',
    cause: 'more unknown machines of one network (/24, or /64 of IPv6) came in a minute than limits allows',
    fix: 'try again after the seconds in retry-after, or raise limits.new_machines_per_minute in the configuration',
  },
  NOTHING_TO_BOOT: {
    kind: 'failed_precondition',
    message: 'the node is <state>: nothing is to be installed or erased on it',
    cause: 'a URL for the next boot was asked for a node that waits for no boot',
    fix: 'approve the node first',
    commands: ['{ingot} node approve <node-id>'],
  },
  BROWSER_REQUEST: {
    kind: 'permission_denied',
    message: 'this address is for machines that boot, not for browsers',
    cause: 'a browser sent the request, perhaps because a page of another site made it do so',
    fix: 'use curl to see what a machine would boot',
  },
  DISCOVERY_OFF: {
    kind: 'permission_denied',
    message: 'no machine of this network is taken in: it is unknown, and discovery is off for it',
    cause: '`netboot.discovery` is off, or limited to networks that the machine is not in',
    fix: 'register the machine with its MAC address, or change `netboot.discovery`',
    commands: ['{ingot} register <machine-id> --mac <address>'],
  },
  INVALID_BOOT_TOKEN: {
    kind: 'permission_denied',
    message: '<what is wrong with the boot token>',
    cause: 'reports and seeds of a boot need the token that the boot was given, until it has ended',
    fix: 'nothing: the machine boots again and gets a new token',
  },
  IMAGE_NOT_FOUND: {
    kind: 'not_found',
    message: 'there is no image <name>',
    cause: 'no image has the name',
    fix: 'list the images, or add this one',
    commands: ['{ingot} image list'],
  },
  IMAGE_REFUSED: {
    kind: 'invalid_argument',
    message: "the file can't be an image: <why>; nothing was kept",
    cause: 'the file is neither a raw disk image nor a qcow2 without a backing file',
    fix: 'convert it with qemu-img, and upload it again',
  },
  IMAGE_CHANGED: {
    kind: 'failed_precondition',
    message:
      'the file of the image was changed: its digest is <found>, not <expected>; upload the image again',
    cause: 'the file in the data directory is not the one that was uploaded',
    fix: 'find out what changed it, and upload the image again',
    commands: ['{ingot} image add <name> <file>'],
  },
  UPLOAD_GAP: {
    kind: 'aborted',
    message: 'the next piece must begin at byte <offset>',
    cause: 'a piece of an upload does not follow the bytes that the server has',
    fix: 'continue at the offset that the message names',
  },
  UPLOAD_BUSY: {
    kind: 'aborted',
    message: 'another request is sending this image; try again when it is done',
    cause: 'two uploads of the same bytes run at once',
    fix: 'try again when the other one is done',
  },
  DIGEST_MISMATCH: {
    kind: 'invalid_argument',
    message: 'the bytes have the digest <found>',
    cause: 'the uploaded bytes are not those that sha256 announced',
    fix: 'upload the file again with its own digest',
  },
  WORKFLOW_NOT_FOUND: {
    kind: 'not_found',
    message: 'there is no stored workflow <name>',
    cause: 'no workflow has the name, or it is in the configuration file',
    fix: 'list the workflows',
    commands: ['{ingot} workflow list'],
  },
  WORKFLOW_CONFIGURED: {
    kind: 'failed_precondition',
    message: 'workflow <name> is in the configuration file: change it there',
    cause: 'a workflow of the configuration file cannot be replaced by a stored one',
    fix: 'change the configuration file, or store the workflow under another name',
  },
} as const satisfies Record<string, ReasonRow>;
