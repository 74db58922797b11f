/**
 * `certificates` in the configuration file: which client certificates are a way in, and what they may do. Mappings are kept as
 * they were written, because the configuration is sent to worker processes; `certificateMappings` reads them.
 */
import { z } from 'zod';
import type { RoleTable } from '../../domain/access/caller.ts';
import { type NamePattern, parseNamePattern } from '../../domain/access/certificate-names.ts';
import { parseScope, type Scope } from '../../domain/access/scope.ts';
import { POOL_RULE } from '../../domain/agent/agent.ts';
import { roleProblem } from './access-configuration.ts';

/** The role of agents: it may register one machine and send its keepalives. */
const AGENT = 'agent';

const mapping = z
  .strictObject({
    /** A DNS name or a URI of the certificate; a URI may end with a star, a DNS name may start with one. */
    san: z.string().superRefine((text, context) => {
      const pattern = parseNamePattern(text);
      if (typeof pattern === 'string') context.addIssue({ code: 'custom', message: pattern });
    }),
    role: z.string().min(1, 'must be a role'),
    scope: z
      .string()
      .default('')
      .superRefine((text, context) => {
        try {
          parseScope(text);
        } catch (error) {
          context.addIssue({ code: 'custom', message: (error as Error).message });
        }
      }),
    /** For agents: the machine of a certificate whose name has no star. */
    machine_id: z.string().min(1).max(128).optional(),
    /** For agents: the machine has to be in this pool. */
    pool: z.string().regex(POOL_RULE, "must be a pool's name").optional(),
  })
  .superRefine((given, context) => {
    const problem = given.role === AGENT ? agentProblem(given) : operatorProblem(given);
    if (problem) context.addIssue({ code: 'custom', path: [problem.path], message: problem.message });
  });

export const certificatesConfiguration = z.array(mapping).max(10_000).default([]);

type Mapping = z.output<typeof mapping>;
type Problem = { readonly path: keyof Mapping; readonly message: string } | null;

function agentProblem({ san, scope, machine_id }: Mapping): Problem {
  const hasStar = san.includes('*');
  if (scope !== '') return { path: 'scope', message: 'is not for agents: each has its own machine only' };
  if (hasStar && machine_id !== undefined)
    return { path: 'machine_id', message: 'is what the star of san stands for; leave it out' };
  if (!hasStar && machine_id === undefined)
    return {
      path: 'machine_id',
      message: 'is required for an agent, unless san has a star that stands for it',
    };
  return null;
}

function operatorProblem({ machine_id, pool }: Mapping): Problem {
  const path = machine_id !== undefined ? 'machine_id' : pool !== undefined ? 'pool' : null;
  return path && { path, message: `is for the role ${AGENT} only` };
}

/** The path and the message of the first mapping whose role does not exist. */
export function certificateRoleProblem(mappings: readonly Mapping[], roles: RoleTable): string | null {
  for (const [place, { role }] of mappings.entries()) {
    const problem = role === AGENT ? null : roleProblem(roles, role);
    if (problem !== null) return `certificates.${place}.role: ${problem}`;
  }
  return null;
}

export interface OperatorMapping {
  readonly pattern: NamePattern;
  readonly role: string;
  readonly scope: Scope | null;
}

export interface AgentMapping {
  readonly pattern: NamePattern;
  /** Null: what the star of the pattern stands for. */
  readonly machineId: string | null;
  /** Null: any. */
  readonly pool: string | null;
}

export type CertificateMapping = OperatorMapping | AgentMapping;

export function certificateMappings(mappings: readonly Mapping[]): CertificateMapping[] {
  return mappings.map(({ san, role, scope, machine_id, pool }) => {
    const pattern = parseNamePattern(san);
    if (typeof pattern === 'string') throw new Error(pattern);
    return role === AGENT
      ? { pattern, machineId: machine_id ?? null, pool: pool ?? null }
      : { pattern, role, scope: parseScope(scope) };
  });
}
