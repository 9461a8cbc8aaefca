# SPDX-License-Identifier: MIT
"""Bedrock keeps to what every language model keeps to: with an API key, and with signed requests."""

from rocketride_llm.testing.kit import KEY
from rocketride_llm.testing.suite import LLMSuite
from rocketride_llm.testing.suite_answers import Answers
from rocketride_llm_bedrock import Bedrock

ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "access-of-the-environment",
    "AWS_SECRET_ACCESS_KEY": "secret-of-the-environment",
    "AWS_SESSION_TOKEN": "session-of-the-environment",
    "AWS_BEARER_TOKEN_BEDROCK": "bearer-of-the-environment",
    "AWS_PROFILE": "profile-of-the-environment",
    "AWS_CONFIG_FILE": "/nowhere/config",
    "AWS_SHARED_CREDENTIALS_FILE": "/nowhere/credentials",
    "AWS_DATA_PATH": "/nowhere",
    "AWS_REGION": "region-of-the-environment",
    "AWS_DEFAULT_REGION": "region-of-the-environment",
    "AWS_ENDPOINT_URL": "http://127.0.0.1:9",
    "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": "http://127.0.0.1:9",
    "AWS_USE_FIPS_ENDPOINT": "true",
    "AWS_CA_BUNDLE": "/nowhere.pem",
    "AWS_AUTH_SCHEME_PREFERENCE": "httpBearerAuth",
    "AWS_DEFAULTS_MODE": "auto",
    "AWS_MAX_ATTEMPTS": "several",
    "AWS_RETRY_MODE": "none",
    "AWS_EXECUTION_ENV": "execution-of-the-environment",
    "AWS_SDK_UA_APP_ID": "app-of-the-environment",
    "AWS_LAMBDA_FUNCTION_NAME": "function-of-the-environment",
    "_X_AMZN_TRACE_ID": "trace-of-the-environment",
    "AWS_CSM_ENABLED": "true",
}


class TestBedrock(LLMSuite):
    node = Bedrock
    wire = "bedrock"
    environment = ENVIRONMENT
    extra = {"modelOutputTokens": 100}  # more would be asked for as a stream, lest it take longer than the time limit


class TestSigned(Answers):
    node = Bedrock
    wire = "bedrock"
    extra = {"modelOutputTokens": 100, "apikey": "", "accessKey": KEY, "secretKey": "planted-secret"}
