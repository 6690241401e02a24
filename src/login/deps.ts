import type { ExternalSignIn } from './external/external.ts'
import type { ExternalDeps, Returns } from './external/returns.ts'
import type { ChooseAccountPage } from './sign-in/account-chooser.ts'

/** The parts of the server, with those of this area that several pages share; each page takes from them what it uses. */
export interface LoginDeps extends ExternalDeps {
  readonly chooseAccountPage: ChooseAccountPage
  readonly external: ExternalSignIn
  readonly returns: Returns
}
