// Assembles the pages of users: signing in here or elsewhere, their accounts, and the errors they see.
import type { FastifyInstance } from 'fastify'
import type { Config } from '../config.ts'
import { accountPages } from '../login/accounts/account-pages.ts'
import { changePasswordUrl } from '../login/accounts/change-password-url.ts'
import { createAttempts } from '../login/external/attempts.ts'
import { authenticateEndpoint } from '../login/authenticate.ts'
import { autologinEndpoints } from '../login/autologin.ts'
import { backchannelLogoutEndpoint } from '../login/external/backchannel-logout.ts'
import { errorPages } from '../login/errors.ts'
import type { LoginParts } from '../login/parts.ts'
import { createExternalSignIn, externalEndpoints } from '../login/external/external.ts'
import { factorPages } from '../login/factors/factor-pages.ts'
import { createSignInTargets } from '../login/sign-in/sign-in-target.ts'
import { outboxEndpoint } from '../login/outbox.ts'
import { createReturns } from '../login/external/returns.ts'
import { signInEndpoints } from '../login/routes.ts'
import { createSamlFailures } from '../login/saml/failures.ts'
import { samlLogoutEndpoint } from '../login/saml/logout.ts'
import { samlEndpoints } from '../login/saml/saml.ts'
import { createAccountChooser, savedAccountEndpoint } from '../login/sign-in/account-chooser.ts'
import { staticFileEndpoints } from '../login/static-files.ts'

/** Registers their routes; `app` prefixes each with the path of the base URL. */
export function assembleLogin(
  app: FastifyInstance,
  given: Omit<LoginParts, 'samlEntityId'> & { config: Config },
): void {
  const { config } = given
  const parts = { ...given, ...config.passkeys, samlEntityId: config.saml.entityId }
  const shared = {
    ...parts,
    chooseAccountPage: createAccountChooser(parts),
    signInTargets: createSignInTargets(parts),
    attempts: createAttempts(parts),
    samlFailures: createSamlFailures(parts),
  }
  const deps = { ...shared, external: createExternalSignIn(shared), returns: createReturns(shared) }
  signInEndpoints(app, deps)
  autologinEndpoints(app, deps)
  authenticateEndpoint(app, deps)
  externalEndpoints(app, deps)
  samlEndpoints(app, deps)
  backchannelLogoutEndpoint(app, deps)
  samlLogoutEndpoint(app, deps)
  factorPages(app, deps)
  errorPages(app, deps)
  if (config.playground) outboxEndpoint(app, deps)
  staticFileEndpoints(app, deps)
  accountPages(app, deps)
  changePasswordUrl(app, deps)
  savedAccountEndpoint(app, deps)
}

/** If the base URL has a path: the address that browsers look up at the origin, before that path. */
export const loginAtOrigin = (http: FastifyInstance, parts: Pick<LoginParts, 'store' | 'service' | 'urls'>): void =>
  changePasswordUrl(http, parts)
