import type { Attack } from './attack.ts'

/** Authorization requests must give nobody more than was agreed. */
export const authorizationAttacks: readonly Attack[] = []
