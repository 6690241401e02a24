import type { Attack } from './attack.ts'

/** Requests that others make us send must not reach inside addresses. */
export const outboundAttacks: readonly Attack[] = []
