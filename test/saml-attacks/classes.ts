import type { AttackClass } from './attack.ts'
import { algorithms } from './classes/algorithms.ts'
import { audience } from './classes/audience.ts'
import { canonicalization } from './classes/canonicalization.ts'
import { comments } from './classes/comments.ts'
import { digest } from './classes/digest.ts'
import { duplicateIds } from './classes/duplicate-ids.ts'
import { encryption } from './classes/encryption.ts'
import { entities } from './classes/entities.ts'
import { inResponseTo } from './classes/in-response-to.ts'
import { issuer } from './classes/issuer.ts'
import { keys } from './classes/keys.ts'
import { parserDifferentials } from './classes/parser-differentials.ts'
import { recipient } from './classes/recipient.ts'
import { references } from './classes/references.ts'
import { replay } from './classes/replay.ts'
import { signedInfo } from './classes/signed-info.ts'
import { size } from './classes/size.ts'
import { statements } from './classes/statements.ts'
import { times } from './classes/times.ts'
import { transforms } from './classes/transforms.ts'
import { unsigned } from './classes/unsigned.ts'
import { voidCanonicalization } from './classes/void-canonicalization.ts'
import { wrapping } from './classes/wrapping.ts'
import { wrongElement } from './classes/wrong-element.ts'

/** All classes of attack. */
export const CLASSES: readonly AttackClass[] = [
  wrapping,
  unsigned,
  wrongElement,
  signedInfo,
  digest,
  duplicateIds,
  keys,
  algorithms,
  references,
  transforms,
  canonicalization,
  voidCanonicalization,
  parserDifferentials,
  comments,
  entities,
  encryption,
  issuer,
  audience,
  recipient,
  inResponseTo,
  times,
  replay,
  statements,
  size,
]
