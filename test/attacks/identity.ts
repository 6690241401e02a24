import type { Attack } from './attack.ts'

/** An upstream person must never enter somebody else's account (federation: who a person is). */
export const identityAttacks: readonly Attack[] = []
