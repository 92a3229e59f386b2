/**
 * fast-check with a fixed seed, so that every run tests the same cases. To search for new cases,
 * set another seed: `FC_SEED=… npm test`.
 */
import fc from 'fast-check'

fc.configureGlobal({ seed: Number(process.env.FC_SEED ?? 2026_05_14) })

export default fc
