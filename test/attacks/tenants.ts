import type { Attack } from './attack.ts'

/** An administrator of one zone, or with partial rights, must not reach beyond them. */
export const tenantAttacks: readonly Attack[] = []
