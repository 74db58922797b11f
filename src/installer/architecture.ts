/** The architectures of machines that an installer can be made for, as Debian names them. */
export const ARCHITECTURES = {
  amd64: { elfMachine: 62 },
  arm64: { elfMachine: 183 },
} as const satisfies Record<string, { readonly elfMachine: number }>;

export type Architecture = keyof typeof ARCHITECTURES;
