/**
 * What iPXE fills in itself when it asks for its script: who it is, and what it runs on. `netX` is the interface that it opened
 * last, which is the one that it booted over; net0 is only the first one that it found.
 */
// biome-ignore lint/suspicious/noTemplateCurlyInString: iPXE's variables
export const IPXE_QUERY = 'mac=${netX/mac:hexhyp}&arch=${buildarch}&platform=${platform}';
