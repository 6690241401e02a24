import type { Attack } from './attack.ts'

/** The machine's own troubles must neither open nor hide anything. */
export const operationsAttacks: readonly Attack[] = []
