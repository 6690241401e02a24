// Who may open pages, and what keeps forms of other sites out.

/** Anyone, for this reason. */
export const open = (because: string) => ({ access: { by: 'anyone', because }, audience: 'page' }) as const
/** Users who are signed in. */
export const own = { access: { by: 'session' }, audience: 'page' } as const
/** Users who are signed in, while a step of the sign-in is outstanding. */
export const demanded = { access: { by: 'session', whileDemanded: true }, audience: 'page' } as const
/** Only a form of our own pages may be posted. */
export const ownForm = { antiForgery: { by: 'gate' } } as const
/** A form for users who are signed in; others are sent back to its page. */
export const formOf = (page: string) =>
  ({ access: { by: 'session', formOf: page }, audience: 'page', ...ownForm }) as const
/** The handler refuses forms of other sites, for this reason. */
export const checkedByHandler = (because: string) => ({ antiForgery: { by: 'handler', because } }) as const
/** Other sites may post, for this reason. */
export const otherSitesMayPost = (because: string) => ({ antiForgery: { by: 'nobody', because } }) as const
