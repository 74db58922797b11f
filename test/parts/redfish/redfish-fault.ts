/** What a simulated BMC can be made to do wrong. */
export const REDFISH_FAULTS = {
  slow: 'answers after 3 s',
  mute: 'takes requests and does not answer',
  'ends-sessions': 'forgets its sessions before each request: 401',
  busy: '503 with Retry-After',
  'not-ready': '400 with the message SYS518, as an iDRAC that starts',
  'no-session-left': 'refuses new sessions with 503',
  truncated: 'closes in the middle of a body',
  'half-json': 'a whole answer with half of its JSON',
  'wrong-types': 'numbers where texts belong',
  'plain-text': 'calls a text JSON',
  'lying-power': 'accepts a reset and does nothing',
  'ignores-boot': 'accepts a boot override and forgets it',
  'once-reads-continuous': 'shows a boot override for one boot as continuous',
  'power-loss': 'carries a change out and dies before it answers',
  'dead-connections': 'closes a kept connection at the next request',
  'other-version': 'calls each version outdated: 412',
  redirect: 'redirects to another address',
  'web-page': 'is a web server: HTML at every address',
  huge: 'a body of 100 MB',
  dangling: 'a system that is linked and does not exist',
  'dangling-memory': 'a collection of memory that is linked and does not exist',
  'other-schema': 'collections without members',
  forbidden: '403 to every change',
  'keeps-media': 'accepts a change of virtual media and does nothing',
} as const satisfies Record<string, string>;

export type RedfishFault = keyof typeof REDFISH_FAULTS;
export const isRedfishFault = (text: string): text is RedfishFault => Object.hasOwn(REDFISH_FAULTS, text);
