/**
 * The variables that iPXE fills in when it requests its script. `netX` is the interface that it opened last, which is
 * the one it booted over; net0 is only the first one that it found.
 */
// biome-ignore lint/suspicious/noTemplateCurlyInString: iPXE's variables
export const IPXE_QUERY = 'mac=${netX/mac:hexhyp}&arch=${buildarch}&platform=${platform}';
