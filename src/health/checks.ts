/**
 * What both a readiness probe and `assay doctor` check, under the same name. The probe answers
 * within a second whether this process should get traffic; doctor says how to repair the set-up.
 */
export type SharedCheck = 'database' | 'schema' | 'engine' | 'signing' | 'payments' | 'jobs'
