/** A source of credentials that does not answer; nothing was refused. */
export class SourceUnavailable extends Error {}
