import type { Attack } from './attack.ts'

/** One tenant, address or visitor must not use up what everybody needs. */
export const loadAttacks: readonly Attack[] = []
